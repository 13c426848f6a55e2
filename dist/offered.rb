# Homebrew formula: `dist/build` fills in version and checksums. On Linux it installs the binary of an archive; elsewhere it compiles.
class Offered < Formula
  desc "Load generator that sends requests exactly when they are scheduled"
  homepage "https://github.com/offered/offered"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    url "https://github.com/offered/offered/releases/download/v@VERSION@/offered-@VERSION@.tar.gz"
    sha256 "@SOURCE@"
    depends_on "rust" => :build
  end

  on_linux do
    on_intel do
      url "https://github.com/offered/offered/releases/download/v@VERSION@/offered-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@X86_64@"
    end
    on_arm do
      url "https://github.com/offered/offered/releases/download/v@VERSION@/offered-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@AARCH64@"
    end
  end

  def install
    if File.exist?("Cargo.toml")
      system "cargo", "install", *std_cargo_args(path: "crates/cli"), "--features", "full"
    else
      bin.install "offered"
    end
    generate_completions_from_executable(bin/"offered", "completions")
    system bin/"offered", "man", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/offered --version")
    system bin/"offered", "run", "http://192.0.2.1/", "--open", "100/s", "--dry-run"
  end
end
