/**
 * Raw settings from the environment and the file, checked name by name; every error is collected,
 * none is thrown.
 */
import { isJsonObject } from '../lib/json.js'
import { nearest } from '../lib/nearest.js'
import { redactText } from '../lib/secrets/redact.js'
import { type OptionKey, optionKeys, optionOf, options } from './options.js'
import {
  exampleSecretFile,
  type ReadFile,
  readSecretFile,
  secretFileName,
  withoutShell,
} from './secret-file.js'

/** The source of a setting; the environment overrides the file. */
export type Source = 'default' | 'file' | 'environment'

/** The given settings, decoded; absent keys have their default. */
export interface GivenSettings {
  readonly values: ReadonlyMap<OptionKey, { readonly value: unknown; readonly source: Source }>
  /** Sentences, each naming the setting, what is wrong and an accepted example. */
  readonly violations: readonly string[]
}

interface Origin {
  readonly source: Source
  /** Begins every error; empty for the environment. */
  readonly label: string
  /** Formats a setting as that source writes it. */
  readonly example: (name: string, value: string) => string
}

const environment: Origin = {
  source: 'environment',
  label: '',
  example: (name, value) => `${name}=${value}`,
}

/** The meaning of a name: the value of an option, or the path of a file that has it. */
interface Named {
  readonly key: OptionKey
  readonly isFile: boolean
}

const known = new Map<string, Named>(optionKeys.flatMap(namesOf))
const names = [...known.keys()] as [string, ...string[]]

function namesOf(key: OptionKey): [string, Named][] {
  const option = optionOf(key)
  const value: [string, Named] = [option.name, { key, isFile: false }]
  return option.secret ? [value, [secretFileName(option), { key, isFile: true }]] : [value]
}

/**
 * The variables that Kubernetes sets in every container for a Service named hermod or hermod-…
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceVariable =
  /^HERMOD_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
const serviceAddress = /^(tcp|udp|sctp):\/\//

function isOfKubernetes(name: string, value = ''): boolean {
  return serviceVariable.test(name) || (name.endsWith('_PORT') && serviceAddress.test(value))
}

/** Defaults are not applied here. An empty variable counts as unset, and so does one of Kubernetes. */
export function readSettings(env: NodeJS.ProcessEnv, readFile: ReadFile): GivenSettings {
  const values = new Map<OptionKey, { value: unknown; source: Source }>()
  const violations: string[] = []
  const take = (origin: Origin, entries: readonly (readonly [string, unknown])[]) => {
    violations.push(...doubles(origin, new Set(entries.map(([name]) => name))))
    for (const [name, input] of entries) {
      const setting = readSetting(origin, name, input, readFile)
      if (typeof setting === 'string') violations.push(setting)
      else values.set(setting.key, { value: setting.value, source: origin.source })
    }
  }
  const given = Object.entries(env).filter(
    ([name, value]) => name.startsWith('HERMOD_') && value !== '' && !isOfKubernetes(name, value),
  )
  const path = env[options.config.name]
  if (path) {
    const file = readConfigFile(path, readFile)
    if (typeof file === 'string') violations.push(file)
    else take(fileOrigin(path), Object.entries(file))
  }
  take(environment, given)
  return { values, violations }
}

/** Names the secrets that one source gives both as they are and by a file. */
function doubles({ label }: Origin, given: ReadonlySet<string>): string[] {
  return optionKeys
    .map(optionOf)
    .filter(({ secret }) => secret)
    .map((option) => [option.name, secretFileName(option)] as const)
    .filter(([value, file]) => given.has(value) && given.has(file))
    .map(([value, file]) => `${label}${value} and ${file} are both set; remove one of them`)
}

/** Returns the decoded setting, or the error. */
function readSetting(
  origin: Origin,
  name: string,
  input: unknown,
  readFile: ReadFile,
): { key: OptionKey; value: unknown } | string {
  const named = known.get(name)
  if (named === undefined) return unknownSetting(origin, name)
  const { key, isFile } = named
  if (key === 'config' && origin.source === 'file')
    return `${origin.label}${name} belongs in the environment, not in the file that it names`
  if (isFile) {
    const secret = readSecretFile(optionOf(key), input, readFile)
    return typeof secret === 'string'
      ? `${origin.label}${name} ${secret}`
      : { key, value: secret.value }
  }
  const text = asText(input)
  const value = text === undefined ? undefined : optionOf(key).decode(text)
  if (value !== undefined) return { key, value }
  const problem = text === undefined ? null : optionOf(key).problem?.(text)
  return badValue(origin, key, input, problem ?? null)
}

function unknownSetting(origin: Origin, name: string): string {
  const near = nearest(name, names)
  const { key, isFile } = known.get(near) as Named
  const value = isFile ? exampleSecretFile(optionOf(key)) : options[key].example
  return `${origin.label}${name} is not a known setting; the nearest known one is ${near}, for example ${origin.example(near, value)}`
}

function badValue(origin: Origin, key: OptionKey, input: unknown, problem: string | null): string {
  const { name, accepts, secret, example } = options[key]
  const given = secret ? '' : `, not ${shorten(redactText(JSON.stringify(input)))}`
  return `${origin.label}${name} ${problem ?? `must be ${accepts}`}${given}; for example ${origin.example(name, example)}`
}

/** JSON values are read like the same words in the environment: numbers, true for on, lists with commas. */
function asText(input: unknown): string | undefined {
  if (typeof input === 'string') return input.trim()
  if (typeof input === 'number') return String(input)
  if (typeof input === 'boolean') return input ? 'on' : 'off'
  if (Array.isArray(input) && input.every((entry) => typeof entry === 'string'))
    return input.join(',')
  return undefined
}

function fileOrigin(path: string): Origin {
  return {
    source: 'file',
    label: `${path}: `,
    // No shell reads the file, so the command of an example is only named.
    example: (name, value) => `"${name}": "${withoutShell(value)}"`,
  }
}

/** Returns the members of the file, or the error. */
function readConfigFile(path: string, readFile: ReadFile): object | string {
  const { name } = options.config
  try {
    // Editors on Windows begin a file with a byte order mark.
    const content: unknown = JSON.parse(readFile(path).replace(/^\ufeff/, ''))
    return isJsonObject(content)
      ? content
      : `${path} (${name}) must hold one JSON object, for example {"HERMOD_PORT": 8080}`
  } catch (error) {
    const { message } = error as Error
    // The parser quotes the text around the error, which may contain a secret.
    const problem =
      error instanceof SyntaxError
        ? `is not valid JSON: ${message.replace(/, (\.{3})?".*$/s, '')}`
        : `cannot be read: ${message}`
    return `${path} (${name}) ${problem}`
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
