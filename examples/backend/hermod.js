/** Calls of the service with the Admin token of the backend. */

const {
  HERMOD_URL = 'http://127.0.0.1:8080',
  HERMOD_APP = 'hermod',
  HERMOD_TOKEN = '',
} = process.env
/** Users of the service are accounts of this backend: subjects of this issuer. */
const issuer = 'example-backend'

export const service = { url: HERMOD_URL, appId: HERMOD_APP }

/** @typedef {{ id: string, name: string }} Account */

/**
 * Returns a token for an account. The first call makes its user.
 * @param {Account} account
 * @param {string | null} deviceGuid of the client: its next token ends the one before
 * @returns {Promise<string>}
 */
export async function issueToken(account, deviceGuid) {
  const { token } = await issue(account, deviceGuid === null ? {} : { device_guid: deviceGuid })
  return token
}

/**
 * Returns the user ID of an account, whose user is made if there is none yet.
 * @param {Account} account
 * @returns {Promise<number>}
 */
export async function userIdOf(account) {
  const { user_id } = await issue(account, { expires_in: 60 })
  return user_id
}

/**
 * Ends all tokens of an account: its pages close within a second.
 * @param {Account} account
 */
export async function revokeTokens(account) {
  await call('/token/revoke', { issuer, subject: account.id })
}

/**
 * @param {Account} account
 * @param {object} more parameters
 */
function issue({ id, name }, more) {
  return call('/token/issue', { issuer, subject: id, create: { nick_name: name }, ...more })
}

/**
 * @param {string} path of an operation
 * @param {object} body its parameters
 */
async function call(path, body) {
  const response = await fetch(HERMOD_URL + path, {
    method: 'POST',
    headers: {
      app_id: HERMOD_APP,
      'access-token': HERMOD_TOKEN,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  const { code, data, message } = await response.json()
  if (code !== 200) throw new Error(`${path} answered ${code}, ${message}`)
  return data
}
