/**
 * S3's checks of a form that stores an object, written from its documentation and independent of
 * the service.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface PolicyCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

interface Policy {
  readonly expiration: string
  readonly conditions: readonly (Readonly<Record<string, string>> | readonly unknown[])[]
}

/**
 * @param fields of the form in lower case, with the bucket
 * @returns the code of S3's error; null: the form may store a file of this size
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
 */
export function judgeForm(
  fields: ReadonlyMap<string, string>,
  size: number,
  credentials: PolicyCredentials,
): string | null {
  if (!isPolicySigned(fields, credentials)) return 'SignatureDoesNotMatch'
  const text = Buffer.from(fields.get('policy') ?? '', 'base64').toString()
  const policy = JSON.parse(text) as Policy
  if (Date.parse(policy.expiration) < Date.now()) return 'AccessDenied'
  const isMet = policy.conditions.every((condition) => meets(condition, fields))
  if (!isMet || uncoveredFields(policy, fields).length > 0) return 'AccessDenied'
  return sizeError(policy, size)
}

/** Returns the signature of a policy, by the documented chain of keys. */
export function policySignature(policy: string, scope: string, secretAccessKey: string): string {
  const hmac = (key: string | Buffer, text: string) =>
    createHmac('sha256', key).update(text).digest()
  const key = scope
    .split('/')
    .reduce<string | Buffer>((parent, part) => hmac(parent, part), `AWS4${secretAccessKey}`)
  return hmac(key, policy).toString('hex')
}

function isPolicySigned(
  fields: ReadonlyMap<string, string>,
  { accessKeyId, secretAccessKey }: PolicyCredentials,
): boolean {
  const [id, ...scope] = (fields.get('x-amz-credential') ?? '').split('/')
  const given = Buffer.from(fields.get('x-amz-signature') ?? '')
  const right = Buffer.from(
    policySignature(fields.get('policy') ?? '', scope.join('/'), secretAccessKey),
  )
  return id === accessKeyId && given.length === right.length && timingSafeEqual(given, right)
}

function meets(
  condition: Policy['conditions'][number],
  fields: ReadonlyMap<string, string>,
): boolean {
  if (Array.isArray(condition)) {
    const [operator, name, value] = condition as [string, string, string]
    const given = fields.get(String(name).slice(1).toLowerCase()) ?? ''
    if (operator === 'starts-with') return given.startsWith(value)
    return operator === 'eq' ? given === value : operator === 'content-length-range'
  }
  return Object.entries(condition).every(
    ([name, value]) => fields.get(name.toLowerCase()) === value,
  )
}

/**
 * Returns fields that the policy lacks; signature, policy, file and ignored fields need not be in
 * it.
 */
function uncoveredFields(policy: Policy, fields: ReadonlyMap<string, string>): string[] {
  const covered = policy.conditions.flatMap((condition) =>
    Array.isArray(condition)
      ? [String(condition[1]).slice(1).toLowerCase()]
      : Object.keys(condition).map((name) => name.toLowerCase()),
  )
  const exempt = ['x-amz-signature', 'policy', 'file', ...covered]
  return [...fields.keys()].filter(
    (name) => !exempt.includes(name) && !name.startsWith('x-ignore-'),
  )
}

function sizeError(policy: Policy, size: number): string | null {
  const range = policy.conditions.find(
    (condition) => Array.isArray(condition) && condition[0] === 'content-length-range',
  ) as readonly [string, number, number] | undefined
  if (range === undefined) return null
  if (size > range[2]) return 'EntityTooLarge'
  return size < range[1] ? 'EntityTooSmall' : null
}
