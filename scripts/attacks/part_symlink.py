"""A link at the partial file of a fetch, as anyone can make in a folder such as /tmp."""

from ndn_programs import Failed, random_file, same

TITLE = "a fetch does not write through a link at its partial file"


def run(attack):
    lab = attack.lab
    original, copy, thesis = lab.folder / "file", lab.folder / "copy", lab.folder / "thesis"
    random_file(original, 1 << 20)
    forwarder = lab.forwarder("ndnweir")
    lab.producer("ndnweir", forwarder, original, "/attack/file")
    for ending in (".part", ".part.state", ".part.state.new"):
        thesis.write_text("years of work")
        link = lab.folder / f"copy{ending}"
        link.symlink_to(thesis)
        program = lab.consumer("ndnweir", forwarder, "/attack/file", copy)
        done = program.wait(30)
        if thesis.read_bytes() != b"years of work":
            raise Failed(f"what {link.name} leads to was overwritten")
        if done is None or (done.status == 0 and not same(original, copy)):
            raise Failed(f"with {link.name} as a link the fetch did not end well: {program.last_words()}")
        for left in lab.folder.glob("copy*"):
            left.unlink()
    return "three links, nothing behind them was touched"
