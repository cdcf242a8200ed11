/**
 * The types of documents and archives, by the extension of their names. None is code that a page of
 * the service's origin could run.
 */
const typesByExtension: Readonly<Record<string, string>> = {
  '7z': 'application/x-7z-compressed',
  apk: 'application/vnd.android.package-archive',
  bmp: 'image/bmp',
  bz2: 'application/x-bzip2',
  csv: 'text/csv',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  dwg: 'image/vnd.dwg',
  eml: 'message/rfc822',
  epub: 'application/epub+zip',
  gz: 'application/gzip',
  heic: 'image/heic',
  ics: 'text/calendar',
  json: 'application/json',
  key: 'application/vnd.apple.keynote',
  log: 'text/plain',
  md: 'text/markdown',
  numbers: 'application/vnd.apple.numbers',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  pages: 'application/vnd.apple.pages',
  pdf: 'application/pdf',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  psd: 'image/vnd.adobe.photoshop',
  rar: 'application/vnd.rar',
  rtf: 'application/rtf',
  tar: 'application/x-tar',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  txt: 'text/plain',
  vcf: 'text/vcard',
  wps: 'application/vnd.ms-works',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  zip: 'application/zip',
}

/** @returns the type that the extension of a file name stands for; null for other names */
export function typeOfName(fileName: string): string | null {
  const [, extension = ''] = /\.([a-z0-9]+)$/i.exec(fileName) ?? []
  const name = extension.toLowerCase()
  return Object.hasOwn(typesByExtension, name) ? (typesByExtension[name] ?? null) : null
}
