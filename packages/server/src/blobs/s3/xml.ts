/** The little XML that S3 answers. Keys and codes are plain text, so that no entities need reading. */

/** What is inside each element of a name, in the order of the text. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(
    ([, content = '']) => content,
  )
}

/** What is inside the first element of a name; "" when there is none. */
export function element(xml: string, name: string): string {
  return elements(xml, name)[0] ?? ''
}
