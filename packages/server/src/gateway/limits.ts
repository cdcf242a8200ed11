/** Bounds of the gateway that no setting changes. */

/** The most bytes of a frame: the largest body of an operation, and what surrounds it. */
export const maxFrameBytes = 1_048_576 + 4_096
/** The most parts in which a client may send a message. */
export const maxFragments = 1_024
/** The most bytes that a connection sends before its session is open. */
export const maxUnopenedBytes = 16_384
/** The most memory that unfinished messages of one user take. */
export const unfinishedUserBytes = 8_388_608
/** The reads of a frame from which on they have at least {@link smallRead} bytes on average. */
export const smallReads = 64
export const smallRead = 256
/** The time within which session.open comes. */
export const openTimeoutMs = 5_000
/** Calls of one connection that run at once. */
export const callsInProgress = 16
/** Calls of one connection that wait for those in progress. */
export const waitingCalls = 64
/** Unread bytes from which on a connection is behind: it gets no events, and no further call begins. */
export const maxUnreadBytes = 65_536
/** Frames without a call, such as pings and `{}`, in the time of {@link idleFramesMs}. */
export const idleFrames = 100
export const idleFramesMs = 10_000
/** A frame without a call counts once more for each of these bytes. */
export const idleFrameBytes = 65_536
/** Share of a frame that counts for a call refused because too many are waiting. */
export const refusedShare = 0.1
/** The time for which nothing is read of a connection whose call was refused by a limit of calls. */
export const refusedPauseMs = 1_000
/** The time for which a closing connection waits for its client. */
export const closeTimeoutMs = 1_000
/** The interval of the timer of all connections. */
export const tickMs = 250
/** Two intervals without a byte, and this time, end a connection. */
export const silenceMs = 10_000
/** A connection gives way to a new one when it has waited this long without session.open. */
export const giveWayMs = 1_000
/** Sessions that open at once; the others wait. */
export const parallelOpens = 32
/** An open that would wait longer for the others is refused; the client comes back later. */
export const maxOpenWaitMs = 8_000
/** The most characters of a frame's `id` and `op`. */
export const maxNameLength = 64
