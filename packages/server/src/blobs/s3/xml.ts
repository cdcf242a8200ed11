/** Reads the simple XML of S3 answers. Keys and codes are plain text without entities. */

/** Returns the content of each element of a name, in the order of the text. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(
    ([, content = '']) => content,
  )
}

/** Returns the content of the first element of a name; "" when there is none. */
export function element(xml: string, name: string): string {
  return elements(xml, name)[0] ?? ''
}
