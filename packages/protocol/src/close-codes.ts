/**
 * Close codes of the gateway. The range is the rule: after 4000 to 4499 a client comes back, after
 * 4500 to 4999 it does not reconnect without the user.
 */

/** The codes by name, each with its meaning for the client. */
const table = {
  shutdown: [4000, 'The server stops. Come back after retry_after_ms.'],
  slowReader: [4001, 'The client read too slowly.'],
  noPong: [4002, 'No byte of the client arrived for two heartbeats and 10 s.'],
  tokenExpired: [4003, 'The token has expired. Come back with another one only.'],
  tooManyRequests: [4004, 'The user, the address or the connection made too many requests.'],
  serverError: [4005, 'A fault of the server; its log has the cause.'],
  overloaded: [4006, 'The server has more work than it can do.'],
  epochChanged: [4008, 'The database was restored. Drop the store, keep unsent messages, sync.'],
  replaced: [4500, 'The device has opened a newer session.'],
  kicked: [4501, 'The device was logged out.'],
  tokenRevoked: [4502, 'The token was revoked, or an Admin token has lost a scope.'],
  userDisabled: [4503, 'The user was disabled.'],
  userDeleted: [4504, 'The user was deleted.'],
  invalidToken: [4505, 'The token is not valid.'],
  unknownApplication: [4506, 'The application does not exist or is disabled.'],
  badFrame: [4507, 'A frame broke the rules of the protocol.'],
  openTimeOut: [4508, 'session.open did not come in time.'],
  openedTwice: [4509, 'session.open came twice.'],
  connectionLimit: [4510, 'The user or the address has too many connections.'],
  notOpened: [4511, 'A call came before session.open.'],
} as const

/** The name of a close code. */
export type CloseName = keyof typeof table

function column<Index extends 0 | 1>(index: Index) {
  const entries = Object.entries(table).map(([name, row]) => [name, row[index]])
  return Object.freeze(Object.fromEntries(entries)) as {
    readonly [Name in CloseName]: (typeof table)[Name][Index]
  }
}

/** The codes by name. */
export const closeCodes = column(0)

/** The meanings of the codes by name, for readers of the reference. */
export const closeMeanings: Readonly<Record<CloseName, string>> = column(1)

/** Tests whether a client reconnects without the user after this code. */
export function mayComeBack(code: number): boolean {
  return code < 4500
}
