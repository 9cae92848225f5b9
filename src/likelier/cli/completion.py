"""`likelier completion`: what shells need to know to complete commands, options, choices and files."""

from argparse import Action, Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from likelier.cli.arguments import HELP, examples
from likelier.cli.compare import BUILT_IN
from likelier.estimators.catalogue import command_names

FILES = {"DATA", "M.lk", "A.lk", "OLD.lk", "OUT", "FILE", "PATH"}  # what such arguments are called
OFFERED = {"--model": tuple(command_names()), "--models": tuple(command_names())}
MOST = 100  # letters that are said of an option
DATA = {"compare": tuple(BUILT_IN)}  # beside files; of one command


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "completion",
        help="a script that completes words in bash, zsh or fish",
        description="Print what a shell needs to complete commands, options, their values and files.",
        epilog=examples(
            "likelier completion bash",
            "likelier completion fish",
        )
        + "\n\nfor good:\n"
        "  bash   likelier completion bash > ~/.local/share/bash-completion/completions/likelier\n"
        "  zsh    likelier completion zsh > a file _likelier in a folder of $fpath\n"
        "  fish   likelier completion fish > ~/.config/fish/completions/likelier.fish",
    )
    parser.add_argument("shell", choices=list(SHELLS), help="which one")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print the script."""
    from likelier.cli import parser

    top = parser()
    print(SHELLS[options.shell]({name: _words(one) for name, one in top.commands.items()}, _helps(top)))


class Word(NamedTuple):
    """An option or argument."""

    flags: tuple[str, ...]  # none of an argument
    takes: bool  # a value
    values: tuple[str, ...]
    files: bool
    help: str


def _words(parser: Any) -> list[Word]:
    return [_word(action) for action in parser.options]


def _word(action: Action) -> Word:
    flags = tuple(action.option_strings)
    offered = next((OFFERED[flag] for flag in flags if flag in OFFERED), ())
    values = tuple(map(str, action.choices or offered))
    takes = action.nargs != 0
    help = (action.help or "").partition(";")[0]
    return Word(flags, takes, values, action.metavar in FILES, help if len(help) <= MOST else "")


def _helps(top: Any) -> dict[str, str]:
    """What each command is for."""
    (group,) = (action for action in top._actions if action.choices is top.commands)
    return {one.dest: one.help for one in group._choices_actions}


def _flags(words: list[Word]) -> str:
    return " ".join(flag for word in words for flag in word.flags)


# ---- bash ----------------------------------------------------------------------------------------
def _bash(commands: dict[str, list[Word]], helps: dict[str, str]) -> str:
    names = " ".join([*commands, HELP])
    return f"""\
# completion of likelier for bash
_likelier() {{
    local now="${{COMP_WORDS[COMP_CWORD]}}" before="" command="" i
    [ "$COMP_CWORD" -gt 0 ] && before="${{COMP_WORDS[COMP_CWORD-1]}}"
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{COMP_WORDS[i]}}" in
            -*) ;;
            *) command="${{COMP_WORDS[i]}}"; break ;;
        esac
    done
    COMPREPLY=()
    case "$command $before" in
{_cases(commands)}
    esac
    case "$command" in
        "") _likelier_words "{names} --help --version --debug" ;;
        {HELP}) _likelier_words "{" ".join(commands)}" ;;
{_arguments(commands)}
    esac
}}
_likelier_words() {{
    local IFS=$' \\n'
    COMPREPLY=($(compgen -W "$1" -- "$now"))
}}
_likelier_files() {{
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$now"))
}}
complete -o filenames -F _likelier likelier"""


def _cases(commands: dict[str, list[Word]]) -> str:
    """What follows an option that takes a value."""
    lines = []
    for name, words in commands.items():
        for word in words:
            if word.flags and word.takes:
                pattern = "|".join(f'"{name} {flag}"' for flag in word.flags)
                offer = f'_likelier_words "{" ".join(word.values)}"; ' if word.values else ""
                offer += "_likelier_files; " if word.files else ""
                lines.append(f"        {pattern}) {offer}return ;;")
    return "\n".join(lines)


def _arguments(commands: dict[str, list[Word]]) -> str:
    """What else a command takes: options, where a word begins as one, else values and files."""
    lines = []
    for name, words in commands.items():
        others = [word for word in words if not word.flags]
        values = " ".join(value for word in others for value in (*word.values, *DATA.get(name, ())))
        offer = f'_likelier_words "{values}"; ' if values else ""
        offer += "_likelier_files" if any(word.files for word in others) else ":"
        lines.append(f'        {name}) case "$now" in')
        lines.append(f'            -*) _likelier_words "{_flags(words)}" ;;')
        lines.append(f"            *) {offer} ;;\n        esac ;;")
    return "\n".join(lines)


# ---- zsh -----------------------------------------------------------------------------------------
def _zsh(commands: dict[str, list[Word]], helps: dict[str, str]) -> str:
    listed = "\n".join(f"        {_quoted(f'{name}:{help}')}" for name, help in helps.items())
    bodies = "\n".join(
        f"        {name}) _arguments -s \\\n{_zsh_words(name, words)} ;;"
        for name, words in commands.items()
    )
    return f"""\
#compdef likelier
# completion of likelier for zsh
_likelier() {{
    local context state line curcontext="$curcontext"
    local -a commands
    commands=(
{listed}
        'help:what a command takes'
    )
    _arguments -C '--version[which likelier this is]' '--help[what there is]' \\
        '1:command:->command' '*::argument:->argument'
    case "$state" in
        command) _describe command commands ;;
        argument) case "$words[1]" in
        help) _values command {" ".join(commands)} ;;
{bodies}
        esac ;;
    esac
}}
_likelier_data() {{
    _alternative 'name:name:({" ".join(*DATA.values())})' 'file:file:_files'
}}
if [ "$funcstack[1]" = "_likelier" ]; then _likelier "$@"; else compdef _likelier likelier; fi"""


def _zsh_words(name: str, words: list[Word]) -> str:
    lines = []
    for word in words:
        of = f":value:{_zsh_values(word)}" if word.takes else ""
        lines += [_quoted(f"{flag}[{_plain(word.help)}]{of}") for flag in word.flags]
    arguments = [_zsh_values(word) for word in words if not word.flags]
    if arguments:  # several may be DATA: say it once
        lines.append(_quoted(f"*:argument:{'_likelier_data' if name in DATA else arguments[-1]}"))
    return " \\\n".join(f"            {line}" for line in lines)


def _zsh_values(word: Word) -> str:
    return f"({' '.join(word.values)})" if word.values else "_files" if word.files else " "


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", ",")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ---- fish ----------------------------------------------------------------------------------------
def _fish(commands: dict[str, list[Word]], helps: dict[str, str]) -> str:
    begin = "complete -c likelier"
    lines = ["# completion of likelier for fish", f"{begin} -f"]
    for name, help in {**helps, HELP: "what a command takes"}.items():
        lines.append(f"{begin} -n __fish_use_subcommand -a {name} -d {_quoted(help)}")
    lines.append(f"{begin} -n '__fish_seen_subcommand_from {HELP}' -a '{' '.join(commands)}'")
    for name, words in commands.items():
        here = f"{begin} -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{here}{rest}" for word in words for rest in _fish_word(name, word)]
    return "\n".join(lines)


def _fish_word(name: str, word: Word) -> Iterator[str]:
    flags = "".join(
        f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in word.flags
    )
    values = " ".join(word.values if word.flags else (*word.values, *DATA.get(name, ())))
    offer = f" -a '{values}'" if values else ""
    if not word.flags:
        if word.files or offer:
            yield f"{' -F' if word.files else ''}{offer}"
        return
    how = " -r -F" if word.files else " -x" if word.takes else ""
    yield f"{flags}{how}{offer} -d {_quoted(word.help)}"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
