/** Answers of vendor_h: "Result codes" of its downlink message API, and of version 3 of it. */

import { type JsonObject, scalarText } from '../../../lib/json.js'
import type { PushOutcome, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import {
  type AnswerClass,
  acceptedBut,
  asObject,
  codeTable,
  forAll,
  answerObject,
  refusalByCode,
  refusalOfClass,
  scalarTexts,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import type { VendorHCredentials } from './credentials.js'

/** The vendor has not checked the picture of the message. */
export const uncheckedPicture = '80100022'

const vendorHCodes = codeTable({
  suspect_token: [80300007],
  auth_expired: [80200001, 80200003, 80200005],
  throttled: [80100017, 80300029],
  server_error: [81000001, 80600003],
  // 80300002: no permission for the app, or for the tokens of the request. 80300036: the signed
  // token lives too long.
  config: [80300002, 80300011, 80300013, 80300036],
  // The vendor punishes the app.
  credentials: [80300037],
  payload: [
    80100001,
    80100003,
    80100004,
    80100013,
    80100016,
    80100018,
    uncheckedPicture,
    80300008,
    80300010,
    80300030,
  ],
})

const success = '80000000'
const partialSuccess = '80100000'
const allIllegal = '80300007'

export function vendorHOutcomes(
  answer: GatewayAnswer,
  {
    targets,
    credentials: { apiVersion },
  }: {
    readonly targets: readonly PushTarget[]
    readonly credentials: Pick<VendorHCredentials, 'apiVersion'>
  },
): PushOutcome[] {
  const body = answerObject(answer.body)
  const code = scalarText(body.code)
  const reason = scalarText(body.msg)
  const messageId = scalarText(body.requestId)
  if (code === success) return acceptedBut(targets, messageId, new Map())
  if (code !== partialSuccess && code !== allIllegal) {
    const verdict = { code: code || `http_${answer.status}`, reason }
    return forAll(targets, refusalByCode(vendorHCodes, verdict, answer))
  }
  const classOf = (list: string, token: string): TokenFault => {
    if (!endedLists.includes(list)) return ['push_config', `the gateway refuses the token: ${list}`]
    if (apiVersion !== 3 && isOfHarmony5(token)) return ['push_config', needsVersion3]
    // A wrong project makes all tokens illegal, too.
    return [code === allIllegal ? 'suspect_token' : 'invalid_token', 'illegal token']
  }
  const refusalOf = (list: string, token: string): Refusal => {
    const [kind, words] = classOf(list, token)
    return refusalOfClass(kind, { code, reason: words }, answer)
  }
  // The message is JSON itself. It names tokens, so it is no reason for the log.
  const lists = illegalTokens(answerObject(reason))
  const refused = new Map(
    lists.flatMap(({ name, tokens }) =>
      tokens.map((token) => [token, refusalOf(name, token)] as const),
    ),
  )
  if (code === partialSuccess) return acceptedBut(targets, messageId, refused)
  return targets.map(({ token }) => refused.get(token) ?? refusalOf('', token))
}

type TokenFault = readonly [AnswerClass, string]

/**
 * Lists whose tokens reach no device any more. "": the answer gives no reason. Every other name is a
 * fault of the set-up, such as noPushTypeRight, which may be mended, or a token of another project.
 */
const endedLists = ['', 'tokenFormatError']

interface TokenList {
  /** The reason; "" for none. */
  readonly name: string
  readonly tokens: readonly string[]
}

/** Versions 1 and 2 answer with one list, version 3 with an object of lists by reason. */
function illegalTokens({ illegal_tokens, illegalTokens: byReason }: JsonObject): TokenList[] {
  const lists = Object.entries(Array.isArray(byReason) ? { '': byReason } : asObject(byReason))
  return [['', illegal_tokens] as const, ...lists].map(([name, tokens]) => ({
    name: name.trim().slice(0, maxNameLength),
    tokens: scalarTexts(tokens),
  }))
}

const maxNameLength = 64

const needsVersion3 =
  'the token is of HarmonyOS 5 or later; it needs a certificate with api_version 3'

/**
 * Tests for the first letters of tokens in the documents of version 3. Versions 1 and 2 find such a
 * token illegal although it is valid, so the token stays.
 */
function isOfHarmony5(token: string): boolean {
  return token.startsWith('MA')
}
