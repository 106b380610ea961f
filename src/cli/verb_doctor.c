/* tightlip doctor: what this build has, what is missing, and how to get it. */
#include <arb.h>
#include <glpk.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_version.h>

#include "cli/cli.h"
#include "cli/ranks.h"
#include "tightlip/conjecture.h"
#include "tightlip/images.h"
#include "tightlip/linalg.h"
#include "tightlip/tokenizer.h"
#include "tightlip/version.h"
#include "tightlip/weights.h"

typedef struct {
    const char *part, *state, *use, *get;
    bool present;
} finding;

/* Whether PATH holds an executable of that name. */
static bool on_path(const char *program)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        char file[1024];
        const size_t length = strcspn(path, ":");
        const int size = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (size > 0 && (size_t)size < sizeof file && access(file, X_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static bool has_formulas(void)
{
    tl_error err = {TL_OK, ""};

    return tl_conjecture_check("1", &err) == TL_OK;
}

static finding of(const char *part, bool present, const char *state, const char *use,
                  const char *get)
{
    return (finding){part, present ? state : "missing", use, get, present};
}

enum { FINDINGS = 12 };

static void examine(finding *out)
{
    out[0] = of("BLAS", true, tl_blas_provider(), "dense products and singular values",
                "make BLAS=openblas|blis|generic");
    out[1] = of("GSL", true, gsl_version, "random laws, fits, minimisation", "libgsl-dev");
    out[2] = of("Arb", true, arb_version, "ball arithmetic: verify, exact, certified values",
                "libflint-arb-dev");
    out[3] =
        of("GLPK", true, glp_version(), "optimal transport: attacks on measures", "libglpk-dev");
    out[4] = of("muParser", has_formulas(), "present", "conjectures and formulas in plots",
                "libmuparser-dev, then build again");
    out[5] = of("gnuplot", on_path("gnuplot"), "present", "plot.svg and plot.png of a run",
                "gnuplot-nox");
    out[6] = of("python3", on_path("python3"), "present",
                "results/README.md, the manual page, some tests", "python3");
    out[7] = of("zlib", tl_images_reads_gzip(), "present",
                "compressed images for certify, npz files", "zlib1g-dev, then build again");
    out[8] = of("matio", tl_images_reads_matlab(), "present", "SVHN images for certify",
                "libmatio-dev, then build again");
    out[9] = of("protobuf-c", tl_weights_reads_onnx(), "present", "weights in ONNX files",
                "libprotobuf-c-dev protobuf-c-compiler, then build again");
    out[10] = of("unistring", tl_tokenizer_available(), "present", "tokenisers",
                 "libunistring-dev, then build again");
    out[11] = of("MPI", tl_cli_mpi() != NULL, tl_cli_mpi(), "mpirun -n R tightlip run",
                 "libopenmpi-dev openmpi-bin, then make MPI=1");
}

static tl_status run_doctor(tl_cli_call *call, tl_error *err)
{
    finding list[FINDINGS];
    const int threads = omp_get_max_threads(), processors = omp_get_num_procs();

    (void)err;
    examine(list);
    if (call->json) {
        json_t *parts = json_array();
        for (size_t i = 0; i < FINDINGS; i++)
            tl_cli_json_append(&parts,
                               json_pack("{s:s,s:b,s:s,s:s,s:s}", "part", list[i].part, "present",
                                         (int)list[i].present, "state", list[i].state, "use",
                                         list[i].use, "get", list[i].get));
        return tl_cli_json_print(json_pack("{s:s,s:s,s:i,s:i,s:o}", "version", tl_version(), "git",
                                           tl_git_id(), "threads", threads, "processors",
                                           processors, "parts", parts));
    }
    printf("tightlip  %s (%s)\n", tl_version(), tl_git_id());
    printf("threads   %d on %d processors%s\n\n", threads, processors,
           threads > processors ? ": more threads than processors; set OMP_NUM_THREADS" : "");
    for (size_t i = 0; i < FINDINGS; i++) {
        printf("%-10s %s\n           %s", list[i].part, list[i].state, list[i].use);
        if (list[i].present)
            putchar('\n');
        else
            printf("; to get it: apt install %s\n", list[i].get);
    }
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "what this build has, what is missing, and how to get it",
    .details = "Prints versions, the BLAS provider, threads, and every optional part: what it is "
               "for and, where it is missing, which Debian package brings it.",
    .run = run_doctor,
};
