"""The spool: acknowledged events that wait for a chain, one file each; a traced program's spans share files.

May touch: the spool folder and, for the durable write, the hook's files. It never opens a store.
"""

from custody.capture.spool.spool import RejectedFile, Spool, SpoolContent, SpoolReceipt

__all__ = ["RejectedFile", "Spool", "SpoolContent", "SpoolReceipt"]
