/** Returns the form of an upload: the fields of the ticket, and after them the file. */
export function uploadForm(
  fields: Readonly<Record<string, string>>,
  blob: Blob,
  fileName: string,
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', blob, fileName)
  return form
}
