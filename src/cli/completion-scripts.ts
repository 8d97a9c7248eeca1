export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/**
 * A script for each shell. All logic is in `capstan __complete`: one word per line, ":files" where
 * files fit; a word that ends in a dot or a slash goes on, so no blank follows it.
 */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for capstan: source <(capstan completion bash)
_capstan() {
  local line typed=\${COMP_WORDS[0]}
  local program=("$typed")
  [[ -n \${BASH_ALIASES[$typed]-} ]] && eval "program=(\${BASH_ALIASES[$typed]})"
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      "") ;;
      :files) compopt -o default 2>/dev/null || COMPREPLY+=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")) ;;
      *[./]) compopt -o nospace 2>/dev/null; COMPREPLY+=("$line") ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <("\${program[@]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _capstan capstan
`,
  zsh: `#compdef capstan
# zsh completion for capstan: capstan completion zsh > "$fpath[1]/_capstan"
_capstan() {
  local -a ending going
  local line files
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      "") ;;
      :files) files=1 ;;
      *[./]) going+=("$line") ;;
      *) ending+=("$line") ;;
    esac
  done
  (( \${#going} )) && compadd -S "" -- "\${going[@]}"
  (( \${#ending} )) && compadd -- "\${ending[@]}"
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _capstan ]]; then
  _capstan "$@"
else
  compdef _capstan capstan
fi
`,
  fish: `# fish completion for capstan: capstan completion fish | source
function __capstan_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c capstan -f -a "(__capstan_complete)"
`,
};
