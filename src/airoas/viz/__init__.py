"""Pictures of states and beliefs."""
