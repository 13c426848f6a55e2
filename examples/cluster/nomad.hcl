# One run by the allocations of a batch job of Nomad, which meet in a folder that all clients mount at /shared:
#
#   nomad job run nomad.hcl
#   offered verify /shared/run7
#
# Each allocation takes its number from NOMAD_ALLOC_INDEX; how many there are it is told.
job "offered" {
  type = "batch"

  group "workers" {
    count = 8

    # The others go on without one that ends; started again, it takes its part up.
    restart {
      attempts = 2
      delay    = "1s"
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    constraint {
      distinct_hosts = true
    }

    task "offered" {
      driver = "raw_exec"
      config {
        command = "offered"
        args    = ["run", "/shared/shop.toml", "--meet", "/shared/run7", "--workers", "8", "--quiet"]
      }
      resources {
        cores  = 2
        memory = 512
      }
    }
  }
}
