/**
 * Close codes of the gateway. The range is the rule: from 4000 to 4499 a client comes back, from 4500 to 4999 it does not come back by
 * itself.
 */
export const closeCodes = {
  shutdown: 4000,
  slowReader: 4001,
  noPong: 4002,
  /** Come back with another token only. */
  tokenExpired: 4003,
  tooManyRequests: 4004,
  serverError: 4005,
  overloaded: 4006,
  epochChanged: 4008,
  replaced: 4500,
  kicked: 4501,
  tokenRevoked: 4502,
  userDisabled: 4503,
  userDeleted: 4504,
  invalidToken: 4505,
  unknownApplication: 4506,
  badFrame: 4507,
  openTimeOut: 4508,
  openedTwice: 4509,
  connectionLimit: 4510,
  notOpened: 4511,
} as const

/** The name of a close code. */
export type CloseName = keyof typeof closeCodes

/** Tests whether a client comes back by itself after this code. */
export function mayComeBack(code: number): boolean {
  return code < 4500
}
