# SPDX-License-Identifier: Apache-2.0
"""The Debian package, built around the program under test: what is in it, what it asks for, what its scripts do.

Installing, starting and purging it in a root of its own is packaging/test-in-root's."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ["PAWL"])
NEEDED = ["cmake", "cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "strip"]
# Mode and path of everything but folders.
CONTENTS = {
    "-rwxr-xr-x ./usr/bin/pawl",
    "-rw-r--r-- ./usr/lib/systemd/system/pawl.service",
    "-rw-r--r-- ./etc/pawl/pawl.env",
    "-rw-r--r-- ./usr/share/doc/pawl/copyright",
    "-rw-r--r-- ./usr/share/doc/pawl/README.md",
    "-rw-r--r-- ./usr/share/doc/pawl/CHANGELOG.md",
    "-rw-r--r-- ./usr/share/doc/pawl/commands.md",
    "-rw-r--r-- ./usr/share/doc/pawl/metrics.md",
    "-rw-r--r-- ./usr/share/doc/pawl/packaging.md",
}


def run(*command, **more):
    return subprocess.run([str(c) for c in command], text=True, check=True, capture_output=True, **more).stdout


def unit_values(key):
    text = (PACKAGING / "pawl.service").read_text()
    return re.findall(rf"^{key}=(.*)$", text, re.M)


@unittest.skipUnless(all(map(shutil.which, NEEDED)), "needs " + ", ".join(NEEDED))
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        try:
            run("cmake", "-S", PACKAGING, "-B", cls.folder, f"-DPAWL_PROGRAM={PROGRAM}")
            run("cpack", "--config", "CPackConfig.cmake", cwd=cls.folder)
        except subprocess.CalledProcessError as failure:
            raise AssertionError(f"{failure}\n{failure.stdout}{failure.stderr}") from failure
        [cls.package] = cls.folder.glob("*.deb")
        cls.control = cls.folder / "control"
        run("dpkg-deb", "-e", cls.package, cls.control)

    def field(self, name):
        return run("dpkg-deb", "-f", self.package, name).strip()

    def test_names_the_program_and_its_version(self):
        version = run(PROGRAM, "--version").split()[1]
        self.assertEqual(self.field("Package"), "pawl")
        self.assertEqual(self.field("Version"), version)
        architecture = run("dpkg", "--print-architecture").strip()
        self.assertEqual(self.package.name, f"pawl_{version}_{architecture}.deb")

    def test_holds_these_files_and_no_other(self):
        lines = [line.split(maxsplit=5) for line in run("dpkg-deb", "-c", self.package).splitlines()]
        self.assertEqual({f"{line[0]} {line[5]}" for line in lines if not line[0].startswith("d")}, CONTENTS)
        self.assertEqual({line[1] for line in lines}, {"root/root"})
        for line in lines:
            if line[0].startswith("d"):
                self.assertEqual(line[0], "drwxr-xr-x", line)

    def test_the_program_is_the_one_that_was_given(self):
        run("dpkg-deb", "-x", self.package, self.folder / "root")
        packed = self.folder / "root/usr/bin/pawl"
        self.assertEqual(run(packed, "--version"), run(PROGRAM, "--version"))
        self.assertIn(", stripped", run("file", packed))

    def test_depends_on_what_the_program_links(self):
        depends = {entry.split()[0] for entry in re.split(r"[,|]\s*", self.field("Depends"))}
        linked = run("ldd", PROGRAM)
        for library, package in (("libsqlite3", "libsqlite3-0"), ("libpcre2-8", "libpcre2-8-0"), ("libc.so", "libc6"),
                                 ("libprometheus-cpp-core", "libprometheus-cpp-core1.0")):
            if library in linked:
                self.assertIn(package, depends)
        # loaded when something is fetched, so that no tool sees it
        self.assertIn("libcurl4", depends)
        self.assertFalse([name for name in depends if name.endswith("-dev")])

    def test_settings_are_a_conffile(self):
        self.assertEqual((self.control / "conffiles").read_text().split(), ["/etc/pawl/pawl.env"])

    def test_scripts_are_sound_and_start_nothing(self):
        for name in ("postinst", "prerm", "postrm"):
            script = self.control / name
            self.assertTrue(script.stat().st_mode & stat.S_IXUSR, name)
            run("sh", "-n", script)
        install = (self.control / "postinst").read_text()
        self.assertEqual(re.findall(r"systemctl ([\w-]+)", install), ["daemon-reload", "try-restart"])

    def test_the_unit_uses_what_is_there(self):
        [start] = unit_values("ExecStart")
        self.assertEqual(start.split()[0], "/usr/bin/pawl")
        settings = dict(re.findall(r"^(\w+)=(.*)$", (PACKAGING / "pawl.env").read_text(), re.M))
        for name in re.findall(r"\$\{?(\w+)", start):
            self.assertIn(name, settings)
        self.assertEqual(settings["PAWL_HOST"], "127.0.0.1")
        for hardened in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome"):
            self.assertEqual(unit_values(hardened), ["yes"], hardened)
        self.assertEqual(unit_values("ProtectSystem"), ["strict"])

    def test_the_options_of_the_unit_exist(self):
        help_text = subprocess.run([PROGRAM, "serve", "--help"], text=True, capture_output=True)
        if help_text.returncode != 0:
            self.skipTest("this pawl has no command serve")
        commented = (PACKAGING / "pawl.env").read_text()
        for option in re.findall(r"--[\w-]+", unit_values("ExecStart")[0] + commented):
            if option not in ("--help",):
                self.assertIn(option, help_text.stdout)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_systemd_understands_the_unit(self):
        result = subprocess.run(["systemd-analyze", "verify", PACKAGING / "pawl.service"], text=True, capture_output=True)
        told = [line for line in result.stderr.splitlines()
                if "pawl.service" in line and "/usr/bin/pawl is not executable" not in line]
        self.assertEqual(told, [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
