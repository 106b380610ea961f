#!/usr/bin/env python3
"""manual.py PROGRAM man|completion: the manual page or the bash completion, from the option tables
that the program itself prints (`help --json`)."""
import json
import subprocess
import sys

EXITS = [("0", "done"), ("1", "failed"), ("2", "wrong usage or input"),
         ("3", "a found value lies above a bound, or a witness does not hold what it claims")]


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def option_lines(option):
    argument = f" \\fI{troff(option['argument'])}\\fR" if option["argument"] else ""
    default = f" (default {option['default']})" if option["default"] else ""
    return [".TP", f"\\fB\\-\\-{troff(option['name'])}\\fR{argument}",
            troff(option["text"] + default)]


def manual(verbs, version):
    lines = [f'.TH TIGHTLIP 1 "" "tightlip {version}" "User Commands"', ".SH NAME",
             "tightlip \\- sharpness of Lipschitz bounds of self\\-attention", ".SH SYNOPSIS",
             ".B tightlip", "\\fIVERB\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]", ".SH DESCRIPTION",
             "Searches for inputs that maximise the local norm of the Jacobian of an attention layer, "
             "compares what it finds with every proven upper bound, and proves the found value in ball "
             "arithmetic. Standard output is data, standard error is talk.", ".SH VERBS"]
    for verb in verbs:
        lines += [f".SS tightlip {troff(verb['name'])} {troff(verb['operands'])}".rstrip(),
                  troff(verb["summary"][:1].upper() + verb["summary"][1:] + ".")]
        for option in verb["options"]:
            lines += option_lines(option)
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXITS:
        lines += [".TP", code, troff(meaning)]
    lines += [".SH SEE ALSO", troff("tightlip VERB --help explains a verb; the README of the sources "
                                    "holds the format of experiment files.")]
    return "\n".join(lines) + "\n"


def completion(verbs):
    names = " ".join(verb["name"] for verb in verbs)
    cases = "\n".join(
        f"        {verb['name']}) options='{' '.join('--' + o['name'] for o in verb['options'])}' ;;"
        for verb in verbs)
    return f"""# bash completion for tightlip
_tightlip()
{{
    local word=${{COMP_WORDS[COMP_CWORD]}} options=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{names}' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _tightlip tightlip
"""


def main():
    program, what = sys.argv[1:]
    ask = lambda *words: json.loads(subprocess.run([program, *words, "--json"], check=True,
                                                   capture_output=True).stdout)
    verbs = ask("help")
    sys.stdout.write(manual(verbs, ask("version")["version"]) if what == "man" else completion(verbs))


main()
