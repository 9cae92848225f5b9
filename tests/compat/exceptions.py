"""Tests of scikit-learn's that say nothing of likelier, or of which likelier differs: each with its reason.

A key is the name of a test, with its parameters if only some of them apply; a star stands for anything.
"""

PRIVATE = "it asks for private attributes or functions of scikit-learn's"
DEFICIENT = "a class of deficient rank is refused there; here it gets a defined result, and a warning"
LIBLINEAR = "solver='liblinear' is accepted for what it means, and its restrictions do not apply: "
NAMED = "the message names the solver that ran"
EXACT = "whatever solver is asked for, the exact solution is found, without its restrictions or its steps"
DUAL = "`dual` is accepted and changes nothing, so no pair with it is refused"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "test_naive_bayes": {
        "test_gnb_check_update_with_no_data": PRIVATE,
        "test_alpha_vector": PRIVATE,
        "test_check_alpha": PRIVATE,
        "test_discretenb_provide_prior[*]": "a fit that fails leaves the estimator as it was; there, with "
        "the classes of the rows that were refused",
        "test_discretenb_provide_prior_with_partial_fit[CategoricalNB]": "categories that are fractions "
        "are refused; there they are cut to whole numbers in silence",
        "test_categoricalnb[*]": "a value that is no known category is marginalised by predict; there a "
        "negative one is refused",
    },
    "test_discriminant_analysis": {
        "test_qda[*]": DEFICIENT,
        "test_qda_regularization[*]": DEFICIENT,
        "test_raises_value_error_on_one_sample_per_class[*]": DEFICIENT,
    },
    "test_gaussian_mixture": {
        "test_gaussian_mixture_precisions_init[42-float64-*]": PRIVATE,
        "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters[*]": PRIVATE,
        "test_gaussian_mixture_n_parameters": PRIVATE,
        "test_gaussian_mixture_aic_bic": PRIVATE,
        "test_check_weights": "the message there has the largest and the least value in each other's place",
        "test_regularisation": "more components than distinct rows are refused, in words of its own",
    },
    "test_sgd": {
        "test_plain_has_no_average_attr[*SGDClassifier]": PRIVATE,
        "test_validation_mask_correctly_subsets": PRIVATE,
        "test_partial_fit_weight_class_balanced[*]": "class_weight='balanced' goes with partial_fit",
        "test_sgd_error_on_zero_validation_weight": "weights that are all zero are refused as such, before "
        "any rows are held out",
    },
    "test_base": {
        "test_inplace_data_preprocessing[*-None]": "X is never written to, whatever `copy_X` is",
        "test_raises_value_error_if_positive_and_sparse": "positive=True takes sparse rows",
    },
    "test_ridge": {
        "test_ridge_fit_intercept_sparse_error[*]": EXACT,
        "test_ridge_positive_error_test[*]": EXACT,
        "test_ridge_fit_intercept_sparse_sag[*]": EXACT,
        "test_lbfgs_solver_error": EXACT,
        "test_n_iter": EXACT,
    },
    "test_logistic": {
        "test_check_solver_option[*]": LIBLINEAR + "it takes several classes",
        "test_liblinear_multiclass_raises[*]": LIBLINEAR + "it takes several classes",
        "test_liblinear_dual_random_state[*]": LIBLINEAR + "its result does not depend on random_state",
        "test_liblinear_with_large_values": LIBLINEAR + "it takes large values",
        "test_dtype_match[*-liblinear]": LIBLINEAR + "it keeps single precision",
        "test_large_sparse_matrix[*-liblinear]": LIBLINEAR + "it takes indices of 64 bits",
        "test_large_sparse_matrix[*-sag*]": "sag and saga are accepted, and take indices of 64 bits",
        "test_max_iter[*-liblinear-*]": NAMED,
        "test_max_iter[*-sag*-*]": NAMED,
        "test_max_iter[*-newton-cholesky-*-max_iter0]": NAMED,
        "test_logistic_cv_multinomial_score[*]": PRIVATE,
        "test_logreg_predict_proba_multinomial[*]": PRIVATE,
        "test_c_inf_no_warning[*]": "its classes are separated, which likelier says",
        "test_newton_cholesky_fallback_to_lbfgs": "newton-cholesky needs no other solver to fall back on",
        "test_logistic_regression_callback_support[0]": "max_iter=0 takes no step; there it takes one",
        "test_logistic_regression_callback_support_warning": "callbacks work with every solver",
    },
    "test_svm": {
        "test_linearsvc_parameters[*-True-l1-squared_hinge]": DUAL,
        "test_linearsvc_parameters[*-False-l2-hinge]": DUAL,
        "test_dense_liblinear_intercept_handling": "no intercept is penalised",
        "test_linear_svm_convergence_warnings[*]": "two steps are enough here",
    },
}
