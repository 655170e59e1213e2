"""Where did an agent stop, and how does it go on? LangGraph checkpoints, snapshots, approvals, archive."""
