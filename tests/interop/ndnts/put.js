// Publishes a file with NDNts, as segments and RDR metadata, until it is ended.
//
//   node put.js FILE /name SOCKET
import fs from "node:fs";
import { Version } from "@ndn/naming-convention2";
import { enableNfdPrefixReg } from "@ndn/nfdmgmt";
import { UnixTransport } from "@ndn/node-transport";
import { digestSigning, Name } from "@ndn/packet";
import { Metadata, serveMetadata } from "@ndn/rdr";
import { BufferChunkSource, serve } from "@ndn/segmented-object";

const [file, uri, socket] = process.argv.slice(2);
const name = new Name(uri);
const versioned = name.append(Version.create(Date.now() * 1000));
const face = await UnixTransport.createFace({}, socket);
enableNfdPrefixReg(face, { signer: digestSigning });
const content = new BufferChunkSource(fs.readFileSync(file), { chunkSize: 8000 });
serve(versioned, content, { signer: digestSigning, announcement: name });
const metadata = new Metadata(versioned);
serveMetadata(metadata, { signer: digestSigning, freshnessPeriod: 1000, pOpts: { announcement: name } });
