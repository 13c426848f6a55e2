# One run by the allocations of a batch job of Nomad, which meet in a folder that all clients mount under one path:
#
#   nomad job run -var workers=8 -var workload=/shared/shop.toml -var folder=/shared/run7 nomad.hcl
#   offered verify /shared/run7
#
# Each allocation takes its number from NOMAD_ALLOC_INDEX; how many there are it is told.
variable "workers" {
  type = number
}
variable "workload" {
  type = string
}
variable "folder" {
  type = string
}
# Each worker has so many whole processors of its own.
variable "cores" {
  type    = number
  default = 2
}

job "offered" {
  type = "batch"

  group "workers" {
    count = var.workers

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
        args    = ["run", var.workload, "--meet", var.folder, "--workers", var.workers, "--quiet"]
      }
      resources {
        cores  = var.cores
        memory = 512
      }
    }
  }
}
