// Publishes a file with NDNts, as segments and RDR metadata, until it is ended. With a number of milliseconds it announces
// its prefix for so long instead of registering it.
//
//   node put.js FILE /name SOCKET [MILLISECONDS]
import fs from "node:fs";
import { Version } from "@ndn/naming-convention2";
import { enableNfdPrefixReg, PrefixAnn } from "@ndn/nfdmgmt";
import { UnixTransport } from "@ndn/node-transport";
import { digestSigning, Name } from "@ndn/packet";
import { Metadata, serveMetadata } from "@ndn/rdr";
import { BufferChunkSource, serve } from "@ndn/segmented-object";

const [file, uri, socket, milliseconds] = process.argv.slice(2);
const name = new Name(uri);
const versioned = name.append(Version.create(Date.now() * 1000));
const face = await UnixTransport.createFace({}, socket);
enableNfdPrefixReg(face, { signer: digestSigning, PrefixAnn });
let announcement = name;
if (milliseconds) {
  const expirationPeriod = Number(milliseconds);
  announcement = await PrefixAnn.build({ announced: name, expirationPeriod, signer: digestSigning });
}
const content = new BufferChunkSource(fs.readFileSync(file), { chunkSize: 8000 });
serve(versioned, content, { signer: digestSigning, announcement });
const metadata = new Metadata(versioned);
serveMetadata(metadata, { signer: digestSigning, freshnessPeriod: 1000, pOpts: { announcement } });
