/** Accounts and log-ins of the app, in memory. They stand for the tables that your backend has. */
import { randomBytes, randomUUID, scryptSync, timingSafeEqual } from 'node:crypto'

/** @typedef {{ id: string, name: string, salt: Buffer, hash: Buffer }} Account */

/** @type {Map<string, Account>} by name */
const accounts = new Map()
/** @type {Map<string, Account>} by the value of the cookie */
const sessions = new Map()

for (const [name, password] of [
  ['alice', "alice's password"],
  ['bob', "bob's password"],
])
  signUp(name, password)

/**
 * @param {string} name
 * @param {string} password
 */
function signUp(name, password) {
  const salt = randomBytes(16)
  accounts.set(name, { id: `account-${name}`, name, salt, hash: hashOf(password, salt) })
}

/**
 * @param {string} name
 * @param {string} password
 * @returns the value of the cookie; null for a wrong name or password
 */
export function logIn(name, password) {
  const account = accounts.get(name)
  const hash = hashOf(password, account?.salt ?? randomBytes(16))
  if (!account || !timingSafeEqual(hash, account.hash)) return null
  const session = randomUUID()
  sessions.set(session, account)
  return session
}

/** @param {string | undefined} session the value of the cookie */
export function accountOf(session) {
  return sessions.get(session ?? '')
}

/** @param {string} id */
export function otherAccounts(id) {
  return [...accounts.values()].filter((account) => account.id !== id)
}

/**
 * Ends all sessions of an account.
 * @param {Account} account
 */
export function logOutEverywhere(account) {
  for (const [session, { id }] of sessions) if (id === account.id) sessions.delete(session)
}

/**
 * @param {string} password
 * @param {Buffer} salt
 */
function hashOf(password, salt) {
  return scryptSync(password, salt, 32)
}
