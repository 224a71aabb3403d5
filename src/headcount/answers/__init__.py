"""What can be said from released tables alone: free by construction, since no data layer is in reach."""
