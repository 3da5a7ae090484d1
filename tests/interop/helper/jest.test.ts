import { afterAll, beforeAll, test } from "@jest/globals";
import { register } from "./cases.js";

register({ test, beforeAll, afterAll });
