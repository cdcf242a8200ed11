import { ClientError, failureOf } from '../errors.js'
import { parseAddress } from '../lib/address.js'

/** Refuses an argument. @throws ClientError invalid_argument, always */
export function refuse(name: string, rule: string): never {
  throw new ClientError(failureOf('invalid_argument', `${name} must be ${rule}`))
}

/** Checks an ID of the service. @param min 0 where the system, user 0, is meant too */
export function checkId(name: string, value: unknown, min: 0 | 1 = 1): void {
  if (!Number.isSafeInteger(value) || (value as number) < min)
    refuse(name, `an integer of at least ${min}`)
}

/** Checks a list of IDs. */
export function checkIds(name: string, values: unknown): void {
  if (!Array.isArray(values) || values.length === 0) refuse(name, 'a list with at least one ID')
  for (const [index, value] of values.entries()) checkId(`${name}[${index}]`, value)
}

/** Checks a text. */
export function checkText(name: string, value: unknown, { isEmptyAllowed = false } = {}): void {
  if (typeof value !== 'string') refuse(name, 'a text')
  if (value === '' && !isEmptyAllowed) refuse(name, 'a text that is not empty')
}

/** Checks a text that may be absent. */
export function checkOptionalText(name: string, value: unknown): void {
  if (value !== undefined) checkText(name, value, { isEmptyAllowed: true })
}

/** Checks that a value is one of a few. */
export function checkOneOf(name: string, value: unknown, values: readonly unknown[]): void {
  if (!values.includes(value)) refuse(name, `one of ${values.join(', ')}`)
}

/** Checks a function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') refuse(name, 'a function')
}

/** Checks the address of a service. */
export function checkUrl(name: string, value: unknown): void {
  const isUrl = typeof value === 'string' && parseAddress(value) !== undefined
  if (!isUrl) refuse(name, 'an address such as https://chat.example.org')
}
