import { after, before, test } from "node:test";
import { register } from "./cases.js";

register({ test, beforeAll: before, afterAll: after });
