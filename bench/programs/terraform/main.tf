# terraform_data is built into terraform and does nothing: what is left is terraform.

variable "machines" { type = number }
variable "diskGib" { type = number }

resource "terraform_data" "network" {
  input = { name = "network" }
}

resource "terraform_data" "machine" {
  count = var.machines
  input = {
    name    = "machine-${count.index}"
    network = terraform_data.network.id
    diskGib = var.diskGib
  }
}
