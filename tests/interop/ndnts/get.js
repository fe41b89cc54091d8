// Fetches an object with NDNts: RDR metadata, then the segments of the version it names. A hint goes into all Interests.
//
//   node get.js /name FILE SOCKET [/hint]
import fs from "node:fs";
import { UnixTransport } from "@ndn/node-transport";
import { digestSigning, FwHint, Name } from "@ndn/packet";
import { retrieveMetadata } from "@ndn/rdr";
import { fetch } from "@ndn/segmented-object";

const [uri, file, socket, hint] = process.argv.slice(2);
const face = await UnixTransport.createFace({}, socket);
face.addRoute(new Name("/"));
const modifyInterest = hint ? { fwHint: new FwHint(hint) } : undefined;
const metadata = await retrieveMetadata(new Name(uri), { verifier: digestSigning, retx: 2, modifyInterest });
fs.writeFileSync(file, await fetch(metadata.name, { verifier: digestSigning, modifyInterest }));
face.close();
process.exit(0);
