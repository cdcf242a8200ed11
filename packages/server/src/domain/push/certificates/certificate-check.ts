import type { PushOutcome } from '../../../push/outcomes.js'

/** The gateway's verdict on credentials. */
export interface CertificateCheck {
  readonly isOk: boolean
  /** The gateway's own code, or one of ours; "" when it accepted the message. */
  readonly code: string
  /** A sentence for the operator, without secrets. */
  readonly words: string
}

const works = 'the gateway takes the credentials'

/** Derives the verdict from the answer to a message for a device that cannot exist. */
export function checkOf(outcome: PushOutcome): CertificateCheck {
  const check =
    outcome.kind === 'accepted'
      ? { isOk: true, code: '', words: works }
      : { code: outcome.code, ...verdictOn(outcome) }
  const { alarm } = outcome
  return alarm?.kind === 'receipts_refused'
    ? { ...check, words: `${check.words}; ${receiptsRefused(alarm.code)}` }
    : check
}

function receiptsRefused(code: string): string {
  return `it refuses the address for receipts (${code}), so pushes go without them: set --receipts off`
}

function verdictOn(refusal: Exclude<PushOutcome, { kind: 'accepted' }>) {
  const { kind, code, reason } = refusal
  const said = `${reason} (${code})`
  switch (kind) {
    case 'invalid_token':
      if (refusal.isOfRequest)
        return { isOk: false, words: `the gateway refuses the topic of the app: ${said}` }
      return {
        isOk: true,
        words: `${works}${refusal.isSuspect ? '; that the app of the devices is the same shows with the first device only' : ''}`,
      }
    case 'suppressed':
      return { isOk: true, words: works }
    case 'quota':
      return { isOk: true, words: `${works}, and its quota of the day is used up: ${said}` }
    case 'payload':
      // A bare status is not an answer to a message: another server may have sent it.
      return code.startsWith('http_')
        ? {
            isOk: false,
            words: `the gateway does not answer as it should; is send_url right? ${said}`,
          }
        : { isOk: true, words: `${works}, and refuses the message of the check: ${said}` }
    case 'auth_expired':
    case 'config':
      return { isOk: false, words: `the gateway refuses the credentials or the set-up: ${said}` }
    case 'held_back':
      return { isOk: false, words: `the gateway was not asked; check again later: ${said}` }
    case 'throttled':
      return { isOk: false, words: `the gateway asks to slow down; check again later: ${said}` }
    case 'server_error':
      return { isOk: false, words: `the gateway fails; check again later: ${said}` }
    case 'network':
      return { isOk: false, words: `the gateway cannot be reached: ${said}${advice(code)}` }
  }
}

/** The advice for a certificate of the gateway that no known authority has signed. */
function advice(code: string): string {
  return /SELF_SIGNED|ISSUER|LEAF_SIGNATURE|UNTRUSTED/.test(code)
    ? '; if the gateway is not that of the vendor, trust its certificate authority with --ca-file'
    : ''
}
