import { afterAll, beforeAll, test } from "vitest";
import { register } from "./cases.js";

register({ test, beforeAll, afterAll });
