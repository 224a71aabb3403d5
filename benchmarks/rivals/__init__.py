"""The same job in other libraries; each module runs in a virtual environment of its own."""
