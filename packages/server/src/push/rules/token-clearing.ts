import type { InvalidToken } from '../sender.js'

/** A device's token as it is stored. */
export interface StoredToken {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly boundAt: number
}

/**
 * May the stored token be cleared? Only the one that was sent, and only when it was bound before
 * that, or before the moment that the gateway names: a device that came back has a newer one.
 *
 * @param sent the token that was refused, and when it was sent, milliseconds since 1970
 */
export function mayClearToken(
  stored: StoredToken,
  sent: { readonly token: string; readonly sentAt: number },
  { since }: InvalidToken,
): boolean {
  return stored.token === sent.token && stored.boundAt < (since ?? sent.sentAt)
}
