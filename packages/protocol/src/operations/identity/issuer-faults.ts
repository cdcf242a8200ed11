/** Checks of the settings of an issuer that their schemas cannot express. */
type Params = Readonly<Record<string, unknown>>

const sources = ['discovery', 'jwks_url', 'jwks', 'pem', 'hmac_secret']
const minSecretBytes = 32

/** Returns the violations of the settings of an issuer. */
export function issuerFaults(params: Params): string[] {
  return [...sourceFaults(params), ...secretFaults(params)]
}

function sourceFaults(params: Params): string[] {
  const given = sources.filter((name) => params[name] !== undefined)
  const faults = given.length === 1 ? [] : [`${sources.join(', ')}: exactly one must be given`]
  const isShared = params.hmac_secret !== undefined
  if (isShared && params.algorithms !== undefined)
    faults.push('algorithms must be absent with hmac_secret, whose only algorithm is HS256')
  if (!isShared && (params.audience === undefined || isEmpty(params.audience)))
    faults.push('audience must have 1 to 10 entries, unless hmac_secret is given')
  return faults
}

function secretFaults(params: Params): string[] {
  const faults = ['hmac_secret', 'previous_hmac_secret'].flatMap((name) => {
    const secret = params[name]
    if (typeof secret !== 'string') return []
    if (secret.includes('-----BEGIN '))
      return [`${name} must be a secret of your backend and its own; keys in PEM are given as pem`]
    return utf8Bytes(secret) < minSecretBytes
      ? [`${name} must have at least ${minSecretBytes} bytes`]
      : []
  })
  if (params.previous_hmac_secret !== undefined && params.hmac_secret === undefined)
    faults.push('previous_hmac_secret must come with hmac_secret')
  return faults
}

function utf8Bytes(text: string): number {
  return encodeURIComponent(text).replace(/%../g, '.').length
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0
}
