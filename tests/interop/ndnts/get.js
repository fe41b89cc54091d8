// Fetches an object with NDNts: RDR metadata, then the segments of the version it names.
//
//   node get.js /name FILE SOCKET
import fs from "node:fs";
import { UnixTransport } from "@ndn/node-transport";
import { digestSigning, Name } from "@ndn/packet";
import { retrieveMetadata } from "@ndn/rdr";
import { fetch } from "@ndn/segmented-object";

const [uri, file, socket] = process.argv.slice(2);
const face = await UnixTransport.createFace({}, socket);
face.addRoute(new Name("/"));
const cOpts = { retx: 2 };
const metadata = await retrieveMetadata(new Name(uri), { verifier: digestSigning, cOpts });
fs.writeFileSync(file, await fetch(metadata.name, { verifier: digestSigning }));
face.close();
process.exit(0);
