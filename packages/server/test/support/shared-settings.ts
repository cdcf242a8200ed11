/** Settings that all nodes of one database need alike: the first of them would make its own otherwise. */
export const sharedTokens = {
  adminToken: `hma_${'a'.repeat(48)}`,
  operatorToken: `hmo_${'b'.repeat(48)}`,
}
export const sharedKey = { HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}` }
