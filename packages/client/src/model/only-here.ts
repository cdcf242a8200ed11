import { isDraft } from './draft-key.js'
import { wishesKey } from './wishes.js'

/** Tests for the key of a cached record that the server does not have: it is kept when a store fails. */
export function isOnlyHere(key: string): boolean {
  return key === wishesKey || isDraft(key)
}
