# One run by the allocations of a Nomad batch job. The rendezvous is a directory that all clients mount under the same
# path:
#
#   nomad job run -var workers=8 -var workload=/shared/shop.toml -var directory=/shared/run7 nomad.hcl
#   offered verify /shared/run7
#
# Each allocation takes its number from NOMAD_ALLOC_INDEX; the number of workers is passed as an option.
variable "workers" {
  type = number
}
variable "workload" {
  type = string
}
variable "directory" {
  type = string
}
# Number of whole processor cores per worker.
variable "cores" {
  type    = number
  default = 2
}

job "offered" {
  type = "batch"

  group "workers" {
    count = var.workers

    # The other workers continue without a worker that ends. A restarted worker resumes its share.
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
        args    = ["run", var.workload, "--rendezvous", var.directory, "--workers", var.workers, "--quiet"]
      }
      resources {
        cores  = var.cores
        memory = 512
      }
    }
  }
}
