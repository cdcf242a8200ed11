const hidden = '***'

/** A URL without its passwords; only its scheme when it cannot be parsed. */
export function redactUrl(input: string): string {
  if (!URL.canParse(input)) return input.replace(/:\/\/.*$/s, `://${hidden}`)
  const url = new URL(input)
  if (url.password !== '') url.password = hidden
  for (const name of [...url.searchParams.keys()])
    if (/password|secret|key/i.test(name)) url.searchParams.set(name, hidden)
  // With a raw slash in a password, the parser takes the beginning of the password for a port.
  return redactText(url.href)
}

/** Removes tokens and URL passwords from a text for display. */
export function redactText(input: string): string {
  return input
    .replace(/\bhm([aou])_\w+/g, `hm$1_${hidden}`)
    .replace(/(:\/\/[^\s:@/]*):[^\s@]*@/g, `$1:${hidden}@`)
}
