"""The public symbols of the modules that `swift build` has made."""

import glob
import json
import os
import subprocess
import sys
import tempfile

# Scripts leave nothing behind in the folder that they are in.
sys.dont_write_bytecode = True


def symbol_graphs(module, *options):
    """The symbol graphs of a module, extensions of other modules' types among them."""
    target = "x86_64-unknown-linux-gnu" if os.uname().machine == "x86_64" else "aarch64-unknown-linux-gnu"
    with tempfile.TemporaryDirectory() as folder:
        command = ["swift", "symbolgraph-extract", "-module-name", module, "-I", ".build/debug/Modules",
                   "-target", target, "-minimum-access-level", "public", "-output-dir", folder, *options]
        for path in glob.glob("Sources/Libraries/C*/module.modulemap"):
            command += ["-Xcc", f"-fmodule-map-file={path}"]
        subprocess.run(command, check=True)
        return [json.load(open(path)) for path in sorted(glob.glob(f"{folder}/*.json"))]
