/** The first characters of a text, all of them whole. */
export function beginning(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  return [...text.slice(0, 2 * maxCharacters)].slice(0, maxCharacters).join('')
}
