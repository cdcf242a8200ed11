/** Files whose type stands behind their beginning. */
import { crc32 } from 'node:zlib'

const mainTypes = {
  docx: 'wordprocessingml.document',
  xlsx: 'spreadsheetml.sheet',
  pptx: 'presentationml.presentation',
} as const

/** @returns the media type of an Office document */
export function officeType(format: keyof typeof mainTypes): string {
  return `application/vnd.openxmlformats-officedocument.${mainTypes[format]}`
}

/** An Office document: its list of types follows a picture of 10 kB, as some programs write it. */
export function officeDocument(format: keyof typeof mainTypes): Buffer {
  const types = `<Types><Override PartName="/main.xml" ContentType="${officeType(format)}.main+xml"/></Types>`
  return zip([
    { name: 'media/picture.png', content: Buffer.alloc(10_000, 7) },
    { name: '[Content_Types].xml', content: Buffer.from(types) },
  ])
}

interface Entry {
  readonly name: string
  readonly content: Buffer
}

/** An archive of entries that are not compressed. */
export function zip(entries: readonly Entry[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of entries) {
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(content.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), content])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00'), common, rest, Buffer.from(name))
    locals.push(local)
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(listed.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, listed, Buffer.from('PK\x05\x06'), end])
}

/** The beginning of a file in a container of the ISO base media format. @param brand four characters */
export function container(brand: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, 0, 0, 24]),
    Buffer.from(`ftyp${brand}\0\0\x02\0${brand}mp41`),
    Buffer.alloc(1_000),
  ])
}
