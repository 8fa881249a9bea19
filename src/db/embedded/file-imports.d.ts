/** `import path from '…' with { type: 'file' }`: a path on disk, or inside the binary once compiled. */
declare module '*.zst' {
  const path: string
  export default path
}
declare module '*.tar.gz' {
  const path: string
  export default path
}
declare module '*.wasm' {
  const path: string
  export default path
}
declare module '*.data' {
  const path: string
  export default path
}
