/** Resolves names without a thread that waits for name servers. */
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

interface SystemNamesOptions {
  readonly hostsFile?: string
  readonly resolverFile?: string
  /** Name servers, such as 127.0.0.1:5353. Default: those of the system. */
  readonly servers?: readonly string[]
}

/** The settings of the resolver that name servers do not know. */
export interface SearchRules {
  /** Suffixes of short names. */
  readonly search: readonly string[]
  /** A name with this number of dots is tried as it is first. */
  readonly dots: number
}

/** A look-up ends after this time, with the addresses that have arrived. */
const limitMs = 2_000
/** Time of a query to one name server; it is made twice. */
const queryMs = 500
const maxDots = 15
export const loopback = ['127.0.0.1', '::1']

/**
 * Resolves names by the hosts file, and by name servers with the search list of resolv.conf. Both
 * files are read at each look-up, since they may change.
 */
export class SystemNames {
  constructor(private readonly options: SystemNamesOptions = {}) {}

  /**
   * Returns all addresses of a name; [] for none.
   * @throws Error when the name servers do not answer
   */
  async resolve(name: string): Promise<readonly string[]> {
    const { hostsFile = '/etc/hosts', resolverFile = '/etc/resolv.conf' } = this.options
    const [hosts, rules] = await Promise.all([textOf(hostsFile), textOf(resolverFile)])
    const local = hostAddresses(hosts, name)
    return local.length > 0 ? local : this.#ask(candidates(name, searchRules(rules)))
  }

  async #ask(names: readonly string[]): Promise<readonly string[]> {
    const resolver = new Resolver({ timeout: queryMs, tries: 2 })
    if (this.options.servers) resolver.setServers(this.options.servers)
    const limit = AbortSignal.timeout(limitMs)
    limit.addEventListener('abort', () => resolver.cancel())
    let failure: unknown = null
    for (const name of names) {
      if (limit.aborted) break
      const results = await Promise.allSettled([resolver.resolve6(name), resolver.resolve4(name)])
      const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
      if (found.length > 0) return found
      failure ??= results.map(rejectionOf).find((error) => error !== null) ?? null
    }
    if (failure !== null) throw failure
    return []
  }
}

/** Returns the addresses of a name in the text of a hosts file; `localhost` has them always. */
export function hostAddresses(text: string, name: string): readonly string[] {
  const wanted = withoutDot(name)
  const found = text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return isIP(address) && names.some((each) => each.toLowerCase() === wanted) ? [address] : []
  })
  return found.length === 0 && isLoopbackName(wanted) ? loopback : found
}

/** Tests whether a name leads to this machine (RFC 6761). */
export function isLoopbackName(name: string): boolean {
  return /(^|\.)localhost$/.test(withoutDot(name))
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '')
}

/** Reads the search list and the number of dots in the text of resolv.conf. */
export function searchRules(text: string): SearchRules {
  let search: readonly string[] = []
  let dots = 1
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (keyword === 'search') search = values
    if (keyword === 'domain') search = values.slice(0, 1)
    const given = keyword === 'options' ? values.findLast((each) => /^ndots:\d+$/.test(each)) : null
    if (given) dots = Math.min(Number(given.slice('ndots:'.length)), maxDots)
  }
  return { search: search.map((each) => each.replace(/^\.|\.$/g, '')).filter(Boolean), dots }
}

/** Returns the names to ask for in turn. */
export function candidates(name: string, { search, dots }: SearchRules): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const longer = search.map((suffix) => `${name}.${suffix}`)
  const isLong = name.split('.').length > dots
  return isLong ? [name, ...longer] : [...longer, name]
}

/** Returns the failure of a query; null when there is no such name, or no address of the kind. */
function rejectionOf(result: PromiseSettledResult<unknown>): unknown {
  if (result.status === 'fulfilled') return null
  return ['ENOTFOUND', 'ENODATA'].includes(result.reason.code) ? null : result.reason
}

/** Returns the text of a file; "" when there is none. */
function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
