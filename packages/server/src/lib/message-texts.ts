/** Returns the bytes of the texts of a message. */
export function textBytes({
  content,
  attachment,
  config,
  ext,
}: Readonly<Record<'content' | 'attachment' | 'config' | 'ext', string>>): number {
  return [content, attachment, config, ext].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}
