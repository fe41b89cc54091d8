"""Engines that run the parts of a sweep, each started on loopback with two workers, for `scripts/check_engines.py`."""

import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from ports import free_port  # noqa: E402

CLUSTER = Path(__file__).resolve().parent.parent / "packaging" / "cluster"
WORKERS = 2


def tcp_port():
    return free_port(socket.SOCK_STREAM)


def processes():
    """Of each process its identifier, parent and words."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            yield int(entry.name), parent, words


def wait_until(what, condition, seconds=60):
    """What the condition returns once that is something."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"error: {what} has not happened within {seconds} s")
        time.sleep(0.02)
    return found


class Engine:
    """Runs the program itself, on all cores; the others are its children. `folder` is for what the engine writes."""

    name = "cores"
    # Whether a sweep completes by itself when a worker is killed; else it does when it is asked for again.
    recovers = False
    # Whether the worker is the process that started the program, and is killed in its place.
    kills_parent = False
    # How many of them a measurement takes.
    tasks = 400

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = dict(environment)
        self.daemons = []

    def start(self):
        """Starts what has to run for commands to be carried out."""

    def command(self, plan, out, parts):
        """A command that runs all parts, merges, and then ends."""
        del parts
        return ["ndnweir", "sweep", plan, "--out", out, "--threads", str(WORKERS), "--quiet"]

    def begin(self, plan, out, parts):
        """The command's process; what it says is in the file `said`."""
        command = [str(word) for word in self.command(plan, out, parts)]
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def said(self):
        return (self.folder / "said").read_text(errors="replace")

    def daemon(self, *words):
        """Starts a process in a group of its own that `stop` ends."""
        with (self.folder / f"daemon-{len(self.daemons)}").open("wb") as said:
            process = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self.daemons.append(process)
        return process

    def ask(self, *words):
        """What a short command says; empty if it fails."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def workers(self, out):
        """Identifiers of the processes that run parts of the sweep into this folder, or of those that started them."""
        found = [
            (number, parent)
            for number, parent, words in processes()
            if words and Path(words[0]).name == "ndnweir" and str(out) in words and parent > 1
        ]
        return [parent if self.kills_parent else number for number, parent in found]

    def restore(self):
        """Brings back what a killed worker took with it."""

    def stop(self):
        """Ends what was started: politely, then surely."""
        for process in reversed(self.daemons):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.daemons):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                pass
            # Its group may have outlived it.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        self.daemons = []
        # Some engines give their workers groups of their own, and a check that is interrupted leaves commands behind; all
        # have a path in this check's folder among their words.
        for number, _, words in processes():
            if number != os.getpid() and any(f"{self.folder.parent}/" in word for word in words):
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    pass


class Parallel(Engine):
    name = "parallel"
    recovers = True

    def command(self, plan, out, parts):
        sweep = f"ndnweir sweep {shlex.quote(str(plan))} --out {shlex.quote(str(out))}"
        each = f"parallel --jobs {WORKERS} --retries 3 {sweep} --shard {{}}/{parts} --threads 1 --quiet"
        return ["sh", "-c", f"seq 1 {parts} | {each} && {sweep} --merge --quiet"]


class Slurm(Engine):
    name = "slurm"
    tasks = 100

    def start(self):
        folder, node = self.folder, socket.gethostname().partition(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        conf = folder / "slurm.conf"
        conf.write_text(f"""ClusterName=sweeps
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={tcp_port()}
SlurmdPort={tcp_port()}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={node} NodeAddr=127.0.0.1 CPUs={WORKERS} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        self.environment["SLURM_CONF"] = str(conf)
        names = {"key-file": "munge.key", "socket": "munge.socket"}
        names |= {f"{kind}-file": f"munge.{kind}" for kind in ("pid", "log", "seed")}
        self.daemon("munged", "--foreground", *(f"--{option}={folder / name}" for option, name in names.items()))
        wait_until("munged's socket", (folder / "munge.socket").exists)
        self.daemon("slurmctld", "-D", "-f", conf)
        self.daemon("slurmd", "-D", "-f", conf)
        wait_until("an idle node", lambda: self.states() == {"idle"})

    def states(self):
        return set(self.ask("sinfo", "--noheader", "--format=%T").split())

    def set_node(self, *settings):
        node = self.ask("sinfo", "--noheader", "--format=%n").strip()
        subprocess.run(
            ["scontrol", "update", f"nodename={node}", *settings], env=self.environment, check=True, timeout=60
        )

    def command(self, plan, out, parts):
        array = ["sbatch", "--wait", f"--array=1-{parts}", CLUSTER / "slurm.sh", plan, out, parts]
        merge = ["ndnweir", "sweep", plan, "--out", out, "--merge", "--quiet"]
        return ["sh", "-c", " && ".join(shlex.join(map(str, words)) for words in (array, merge))]


class Dask(Engine):
    name = "dask"
    recovers = True
    kills_parent = True

    def start(self):
        self.address = f"tcp://127.0.0.1:{tcp_port()}"
        place = ["--local-directory", self.folder / "dask", "--no-dashboard"]
        self.daemon("dask", "scheduler", "--host", self.address, "--no-dashboard")
        workers = ["--nworkers", WORKERS, "--nthreads", 1, "--host", "127.0.0.1", "--death-timeout", 60]
        self.daemon("dask", "worker", self.address, *workers, *place)

    def command(self, plan, out, parts):
        return ["python", CLUSTER / "sweep_dask.py", plan, out, "--parts", parts, "--scheduler", self.address]


class Ray(Engine):
    name = "ray"
    recovers = True
    kills_parent = True

    def start(self):
        port = tcp_port()
        self.address = f"127.0.0.1:{port}"
        options = ["--node-ip-address=127.0.0.1", f"--port={port}", "--min-worker-port=0", "--max-worker-port=0"]
        options += [f"--num-cpus={WORKERS}", "--num-gpus=0"]
        options += ["--include-dashboard=false", "--disable-usage-stats"]
        options += [f"--dashboard-agent-listen-port={tcp_port()}"]
        options += [f"--temp-dir={self.folder}/ray", f"--object-store-memory={100 << 20}"]
        head = self.daemon("ray", "start", "--head", "--block", *options)

        def ready():
            if head.poll() is not None:
                raise SystemExit(f"error: ray has ended: {(self.folder / 'daemon-0').read_text()}")
            return self.ask("ray", "status", f"--address={self.address}")

        wait_until("an answer of ray", ready, 120)

    def command(self, plan, out, parts):
        return ["python", CLUSTER / "sweep_ray.py", plan, out, "--parts", parts, "--address", self.address]


class HyperQueue(Engine):
    """Its package brings server and workers as threads of one process, which is killed as a whole."""

    name = "hyperqueue"
    kills_parent = True

    SERVER = """
import signal, sys
from hyperqueue.cluster import LocalCluster, WorkerConfig
cluster = LocalCluster(sys.argv[1])
for _ in range(int(sys.argv[2])):
    cluster.start_worker(WorkerConfig(cores=1))
print("ready", flush=True)
signal.pause()
"""

    def start(self):
        self.place = self.folder / f"hq-{len(self.daemons)}"
        self.place.mkdir()
        said = self.folder / f"daemon-{len(self.daemons)}"
        self.daemon("python", "-c", self.SERVER, self.place, WORKERS)
        wait_until("HyperQueue's server", lambda: "ready" in said.read_text())

    restore = start

    def command(self, plan, out, parts):
        return ["python", CLUSTER / "sweep_hyperqueue.py", plan, out, "--parts", parts, "--server-dir", self.place]


class Snakemake(Engine):
    name = "snakemake"
    recovers = True

    def command(self, plan, out, parts):
        options = ["--quiet", "all", "--cores", WORKERS, "--nolock", "--rerun-incomplete"]
        config = [f"plan={plan}", f"out={out}", f"parts={parts}"]
        return ["snakemake", "--snakefile", CLUSTER / "Snakefile", *options, "--config", *config]


class Kubernetes(Engine):
    """No Kubernetes: the command of the template's container, once for each index."""

    name = "kubernetes"

    def start(self):
        template = CLUSTER / "kubernetes-job.yaml"
        self.validate(template)
        # The validation finds what is wrong.
        for right, wrong in (("completionMode: Indexed", "completionMode: 5"), ("parallelism:", "paralelism:")):
            text = template.read_text()
            assert text.count(right) == 1, right
            broken = self.folder / "broken.yaml"
            broken.write_text(text.replace(right, wrong))
            try:
                self.validate(broken)
            except subprocess.CalledProcessError:
                continue
            raise SystemExit(f"error: {wrong} passes the validation of the Kubernetes template")

    def validate(self, path):
        words = ["kubernetes-validate", "--strict", "--quiet", str(path)]
        subprocess.run(words, env=self.environment, check=True, capture_output=True, timeout=60)

    def command(self, plan, out, parts):
        import yaml

        spec = yaml.safe_load((CLUSTER / "kubernetes-job.yaml").read_text())["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        values = {entry["name"]: entry["value"] for entry in container["env"]}
        assert spec["completionMode"] == "Indexed" and str(spec["completions"]) == values["PARTS"]
        mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert all(any(Path(values[name]).is_relative_to(m) for m in mounted) for name in ("PLAN", "OUT")), mounted
        each = f"JOB_COMPLETION_INDEX={{}} PLAN={plan} OUT={out} PARTS={parts} {shlex.join(container['command'])}"
        indices = f"seq 0 {parts - 1} | xargs -P {WORKERS} -I {{}} sh -c {shlex.quote(each)}"
        return ["sh", "-c", f"{indices} && ndnweir sweep {plan} --out {out} --merge --quiet"]


ENGINES = {engine.name: engine for engine in (Engine, Parallel, Slurm, Dask, HyperQueue, Kubernetes, Ray, Snakemake)}
