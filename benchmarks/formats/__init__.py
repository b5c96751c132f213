"""Files written by the tools themselves, read by crowdwise; and files written by crowdwise, read by the tools."""
