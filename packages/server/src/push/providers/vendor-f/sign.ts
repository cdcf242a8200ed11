import { createHash } from 'node:crypto'

/**
 * Signs a form: MD5 of its fields in the order of their names, each as name=value without
 * separators, followed by the secret.
 */
export function vendorFSign(fields: Readonly<Record<string, string>>, secret: string): string {
  const text = Object.keys(fields)
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join('')
  return createHash('md5')
    .update(text + secret)
    .digest('hex')
}
